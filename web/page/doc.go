// Package page is the dashboard: HTML made on the server from what package api answers, so that a view and its JSON
// twin cannot differ. Every view has an address and works by links and forms alone; with JavaScript, htmx reloads
// the part that changed when the site's event log says so.
//
// Read page.go for the frame of every view, views.go for what each shows, forms.go for what changes something,
// live.go for the stream that says when to reload. The *_templ.go files are generated from the *.templ files beside
// them by "go tool templ generate".
package page
