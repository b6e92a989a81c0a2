package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: release PROGRAM")
		os.Exit(2)
	}
	if err := describe(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// describe writes the bill of materials of a program, and the licences of what is in it, beside it.
func describe(program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	materials, err := materialsOf(info)
	if err != nil {
		return err
	}
	texts := licenceTexts(materials)
	bill, err := json.MarshalIndent(billOf(info, materials), "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(program+".cdx.json", append(bill, '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(program+".licences.txt", texts, 0o644)
}
