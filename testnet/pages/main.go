package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: pages FOLDER")
		os.Exit(2)
	}
	s, err := open(".")
	if err == nil {
		err = errors.Join(s.write(os.Args[1]), errors.Join(s.broken()...))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pages:", err)
		os.Exit(1)
	}
}
