package lab

import _ "embed" // for the catalog

// Catalog is the catalog of lab as an agent reads it.
//
//go:embed lab.yaml
var Catalog []byte
