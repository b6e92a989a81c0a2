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
