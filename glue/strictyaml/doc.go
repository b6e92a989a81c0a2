// Package strictyaml reads the YAML that people write for Skerry: the catalog of an application and the
// configuration of a site. It reports every problem of a file at once, each with its line and column, so
// that a person mends a file in one go.
//
// A reader walks the Document from its Root with the methods of Value and Mapping: each asks for one thing and notes a
// problem when the file has another. Reading goes on after a problem with a zero value. At the end Document.Err
// gives all problems in the order of the file.
//
// Nothing is guessed: unknown and repeated keys, values of another type, several documents in one file, anchors,
// aliases and merge keys are problems. Files are bounded in size and depth. A Document belongs to one goroutine.
package strictyaml
