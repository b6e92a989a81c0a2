// Package openstack runs OpenStack's own services, unmodified, as Debian packages them, for the demo and for tests. The tests need the
// tag openstack, and the one with Nova, which takes minutes, the tag nova too: `make test-openstack` installs what they start.
package openstack
