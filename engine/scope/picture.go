package scope

import (
	"strings"
	"unicode"
)

// In a long scope the picture shows about this many characters, and so many of them before the carets.
const (
	pictureWidth  = 100
	pictureBefore = 50
)

// picture draws the source on one line, and below it carets under the bytes from ≤ offset < to, then the message.
// Characters that would not print, or that would break the line, are replaced.
func picture(source string, from, to int, message string) string {
	line := []rune(source)
	// Columns count characters, offsets bytes.
	start := len([]rune(source[:from]))
	end := start + len([]rune(source[from:to]))
	for i, r := range line {
		switch {
		case unicode.IsSpace(r):
			line[i] = ' '
		case !unicode.IsPrint(r):
			line[i] = unicode.ReplacementChar
		}
	}
	left := 0
	if len(line) > pictureWidth && start > pictureBefore {
		left = start - pictureBefore
	}
	right := min(len(line), left+pictureWidth)
	indent, before, after := start-left, "", ""
	if left > 0 {
		before = "…"
		indent++
	}
	if right < len(line) {
		after = "…"
	}
	carets := max(1, min(end, right)-start)
	return before + string(line[left:right]) + after + "\n" +
		strings.Repeat(" ", indent) + strings.Repeat("^", carets) + " " + message
}
