// Package handbook runs the commands of pages in docs/ as a reader would: block by block, on the machines that they name, and compares what they
// show with what the page says that they show. Begin with ledger.go: it has what becomes of each block.
package handbook
