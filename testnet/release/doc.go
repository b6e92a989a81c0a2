// The program release writes what belongs beside a built program: a bill of materials, and the licences of all that is linked into it.
//
//	release PROGRAM
//
// writes PROGRAM.cdx.json (CycloneDX 1.6) and PROGRAM.licences.txt. It goes by what Go has written into the program, and not by go.mod, which
// names what tests and tools need as well. It fails where it does not know a module's licence. Begin with materials.go.
//
//	release image PROGRAM FILE
//
// writes an image of the program for containers, with what was written beside it, dated SOURCE_DATE_EPOCH. Begin with contents.go.
package main
