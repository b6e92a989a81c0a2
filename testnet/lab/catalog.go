package lab

import _ "embed" // for the catalog and what an application says of itself

// Catalog is the catalog of lab as an agent reads it.
//
//go:embed lab.yaml
var Catalog []byte

// openAPI is what the images service says of itself at /openapi.yaml.
//
//go:embed openapi.yaml
var openAPI []byte
