package scope

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Of a longer scope the picture shows so many characters, and at most so many of them before the carets.
const (
	pictureWidth  = 100
	pictureBefore = 50
)

// picture draws the source on one line, and below it carets under the bytes from ≤ offset < to, then the message.
// Characters that would not print, or that would break the line, are replaced. Its cost does not grow with the
// source: a scope may have many problems, and each has its picture.
func picture(source string, from, to int, message string) string {
	before := pictureBefore
	if len(source) <= pictureWidth {
		before = pictureWidth
	}
	left, indent := from, 0
	for left > 0 && indent < before {
		_, size := utf8.DecodeLastRuneInString(source[:left])
		left -= size
		indent++
	}
	right, carets, width := from, 0, indent
	for right < len(source) && width < pictureWidth {
		_, size := utf8.DecodeRuneInString(source[right:])
		if right < to {
			carets++
		}
		right += size
		width++
	}
	line := strings.Map(printable, source[left:right])
	if left > 0 {
		line = "…" + line
		indent++
	}
	if right < len(source) {
		line += "…"
	}
	return line + "\n" + strings.Repeat(" ", indent) + strings.Repeat("^", max(1, carets)) + " " + message
}

func printable(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case !unicode.IsPrint(r):
		return unicode.ReplacementChar
	}
	return r
}
