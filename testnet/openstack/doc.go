// Package openstack runs OpenStack's own services, unmodified, as Debian packages them, for the demo and for tests. The tests need the
// tag openstack: `make test-openstack` installs what they start.
package openstack
