// Package openstack has tests with OpenStack's own services, unmodified, as Debian packages them. They need the tag openstack: `make
// test-openstack` installs what they start.
package openstack
