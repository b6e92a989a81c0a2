// Package core joins the parts of one site's engine: the mesh (members), the loop (site), clients' requests (front) and people's
// decisions (desk). Whoever wires a site hands it the ports, and gets one value that the web and the network talk to.
//
// Read core.go for how they are joined, views.go for what the web and people get of it, vacate.go for how a site that was taken out
// of the mesh leaves every placement. docs/words.md explains the terms.
package core
