package kubernetes

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// Clients take a resourceVersion for a number of any length that grows. That of several sites is one: a 9, how many digits each version
// has, and for each site a number that stands for the site and its version. No version of a site ever goes back, so in one stream the
// number grows.
const (
	versionBegin = "9"
	widthDigits  = 2
	siteDigits   = 6
)

// siteNumber stands for a site in a version.
func siteNumber(site string) string {
	sum := sha256.Sum256([]byte(site))
	return fmt.Sprintf("%0*d", siteDigits, binary.BigEndian.Uint64(sum[:8])%1_000_000)
}

// Versions implements glue.Gatherer. Versions that are no numbers count as unknown, as zero does.
func (Dialect) Versions(sites, versions []string) string {
	width := 4
	for _, v := range versions {
		if decimal(v) {
			width = max(width, (len(v)+3)/4*4) // so that it does not often become another one
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s%0*d", versionBegin, widthDigits, width)
	for i, s := range sites {
		v := versions[i]
		if !decimal(v) {
			v = "0"
		}
		b.WriteString(siteNumber(s))
		b.WriteString(strings.Repeat("0", width-len(v)) + v)
	}
	return b.String()
}

// SplitVersions implements glue.Gatherer.
func (Dialect) SplitVersions(text string, sites []string) ([]string, bool) {
	all, ok := apart(text)
	if !ok || len(all) != len(sites) {
		return nil, false
	}
	versions := make([]string, len(sites))
	for i, s := range sites {
		if all[i][0] != siteNumber(s) {
			return nil, false
		}
		versions[i] = all[i][1]
	}
	return versions, true
}

// versionAt returns what a version of several sites says of one, empty for nothing. False: it is no such version.
func versionAt(text, site string) (version string, several bool) {
	all, ok := apart(text)
	found := 0
	for _, one := range all {
		if one[0] == siteNumber(site) {
			version, found = one[1], found+1
		}
	}
	if found != 1 { // nobody can tell which of two is meant
		version = ""
	}
	return version, ok
}

// apart returns the number of each site with its version, empty for an unknown one.
func apart(text string) ([][2]string, bool) {
	head := len(versionBegin) + widthDigits
	if !decimal(text) || !strings.HasPrefix(text, versionBegin) || len(text) <= head {
		return nil, false
	}
	width, _ := strconv.Atoi(text[len(versionBegin):head])
	text = text[head:]
	if width < 4 || width%4 != 0 || len(text)%(siteDigits+width) != 0 {
		return nil, false
	}
	var all [][2]string
	for ; text != ""; text = text[siteDigits+width:] {
		all = append(all, [2]string{text[:siteDigits], strings.TrimLeft(text[siteDigits:siteDigits+width], "0")})
	}
	return all, true
}

func decimal(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
