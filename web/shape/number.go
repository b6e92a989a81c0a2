package shape

import "strconv"

// InNumbers writes how many there are so that thousands are seen.
func InNumbers(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Count tells a number of things in words: "1 decision waits", "1,200 decisions wait".
func Count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return InNumbers(n) + " " + more
}
