// Package setup makes the first files of a site: it finds out what application is there, checks that it answers, and writes a
// configuration and a catalog that an agent can run with. It overwrites nothing.
//
// Read front.go for what an application is to it, detect.go for how one is found, openapi.go, cluster.go and cloud.go for the three that it
// knows, and write.go for what is written.
package setup
