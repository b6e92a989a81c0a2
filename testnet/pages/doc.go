// Command pages makes HTML of the documentation.
//
//	pages FOLDER
//
// It begins at docs/README.md, whose lists are what every page shows beside itself. What pages link to in this tree goes along. Begin with site.go.
package main
