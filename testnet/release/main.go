package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 1:
		err = describe(args[0])
	case len(args) == 3 && args[0] == "image":
		at, wrong := moment(os.Getenv("SOURCE_DATE_EPOCH"))
		if err = wrong; err == nil {
			err = image(args[1], args[2], at)
		}
	default:
		fmt.Fprintln(os.Stderr, "usage: release PROGRAM\n       release image PROGRAM FILE")
		os.Exit(2)
	}
	if err != nil {
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
