package openstack

import "regexp"

// Headers are those of OpenStack's clients, beside HTTP's own, that go on to another site.
var Headers = []string{"OpenStack-API-Version", "X-OpenStack-*"}

var versions = regexp.MustCompile(`^/(v[0-9]+(\.[0-9]+)?/?)?$`)

// Describes reports whether a path has the versions of the API that a service speaks, which clients read first.
func Describes(path string) bool { return versions.MatchString(path) }
