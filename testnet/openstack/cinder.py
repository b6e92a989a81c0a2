# Runs Cinder's API, its scheduler and what manages volumes in one process, so that there need be no broker between them.
import sys

import eventlet

eventlet.monkey_patch()

from oslo_config import cfg
from oslo_log import log
from oslo_service import service as services

from cinder import objects, rpc, service, version
from cinder.common import config, constants

CONF = cfg.CONF
objects.register_all()
CONF(sys.argv[1:], project="cinder", version=version.version_string())
config.set_middleware_defaults()
log.setup(CONF, "cinder")
rpc.init(CONF)
all = services.launch(CONF, service.Service.create(binary=constants.SCHEDULER_BINARY))
all.launch_service(service.Service.create(binary=constants.VOLUME_BINARY, host=CONF.host + "@tests", service_name="tests", coordination=True))
all.launch_service(service.WSGIService("osapi_volume"))
all.wait()
