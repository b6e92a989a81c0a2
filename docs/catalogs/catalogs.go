// Package catalogs has the catalogs of applications that many people run, for what starts such an application.
package catalogs

import _ "embed"

// Glance describes OpenStack's image service.
//
//go:embed glance.yaml
var Glance []byte

// OpenStack describes it together with Keystone, Nova and Neutron.
//
//go:embed openstack.yaml
var OpenStack []byte

// Keystone describes OpenStack's identity service.
//
//go:embed keystone.yaml
var Keystone []byte

// Cinder describes OpenStack's block storage service.
//
//go:embed cinder.yaml
var Cinder []byte

// Neutron describes OpenStack's networks.
//
//go:embed neutron.yaml
var Neutron []byte
