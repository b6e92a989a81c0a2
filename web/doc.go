// Package web is what a site shows on its API address: the REST API (package api), the dashboard (package page),
// health and metrics. Server is the HTTP side that they share: who may ask, what headers answers carry, how errors
// are told.
//
// policy.go says which role each route needs; who asks is for package auth to tell. Requests that a web page of another origin
// makes, or that arrive under a foreign host name, are refused.
package web
