// Package openapi tests the description of the REST API with what others have made for such documents: a public linter, a parser, and what makes a
// client for another language of them, which then asks an agent's API.
//
// They come from npm (the folder npm pins them), so the tests are behind the build tag npm, which "make test" sets.
package openapi
