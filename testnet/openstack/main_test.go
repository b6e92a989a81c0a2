//go:build openstack

package openstack

import (
	"testing"
	"time"

	"github.com/skerry/skerry/testnet/env"
)

// program is the path of skerry, built for this run.
var program string

func TestMain(m *testing.M) { env.Main(m, &program) }

// patience bounds waits for what comes by itself: on a busy machine Glance takes its time.
const patience = 5 * time.Minute

const (
	both      = "{image: paris & nantes}"
	jsonPatch = "application/openstack-images-v2.1-json-patch"
	octets    = "application/octet-stream"
	bytes     = "the bytes of Debian"
)

// TestClouds has one Keystone and one Glance at each of two sites, which all that is tested shares: they take long to start.
func TestClouds(t *testing.T) {
	t.Parallel()
	c := newCloud(t, clouds(t))
	t.Run("through a cut", func(t *testing.T) { throughACut(t, c) })
	t.Run("a file that is there already", func(t *testing.T) { fileThereAlready(t, c) })
	t.Run("a file on its way", func(t *testing.T) { fileOnItsWay(t, c) })
	t.Run("lists", func(t *testing.T) { lists(t, c) })
	t.Run("a large file", func(t *testing.T) { largeFile(t, c) })
	t.Run("the page", func(t *testing.T) { page(t, c) })
	t.Run("a site by clouds.yaml", func(t *testing.T) { initByClouds(t, c) })
	t.Run("tokens", func(t *testing.T) { tokens(t, c) })
	t.Run("with the rights of users", func(t *testing.T) { rightsOfUsers(t, c) })
	t.Run("other keys", func(t *testing.T) { otherKeys(t, c) })
}
