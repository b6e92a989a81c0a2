# Runs etcd, kube-apiserver and, where it is named, kube-controller-manager until it is told to stop.
set -eu
cd "$1"
apiserver=$2 controllers=$3 api=$4 etcd=$5 peer=$6
run() { setpriv --pdeathsig KILL "$@" & }
run etcd --data-dir etcd --listen-client-urls "http://127.0.0.1:$etcd" --advertise-client-urls "http://127.0.0.1:$etcd" \
	--listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
	--initial-cluster "default=http://127.0.0.1:$peer" --unsafe-no-fsync --log-level error
started=$!
# Accounts of pods are made by controllers: without those no pod could be created.
[ -n "$controllers" ] && admission='' || admission=--disable-admission-plugins=ServiceAccount
# A folder of an earlier version has no certificates for clients.
certificates=
[ -e fronts.pem ] && certificates="--client-ca-file=clients.pem --requestheader-client-ca-file=fronts.pem --requestheader-allowed-names=front-proxy \
	--requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group --requestheader-extra-headers-prefix=X-Remote-Extra-"
run "$apiserver" "--etcd-servers=http://127.0.0.1:$etcd" --bind-address=127.0.0.1 --advertise-address=127.0.0.1 "--secure-port=$api" \
	--tls-cert-file=server.pem --tls-private-key-file=server.key --cert-dir=certs \
	--service-account-issuer=https://kubernetes.default.svc --service-account-key-file=server.pem --service-account-signing-key-file=server.key \
	--service-cluster-ip-range=10.96.0.0/16 --token-auth-file=tokens.csv $admission $certificates \
	--endpoint-reconciler-type=none --authorization-mode=ABAC,RBAC --authorization-policy-file=policy.jsonl
serving=$!
others=
if [ -n "$controllers" ]; then
	# They end by themselves when they have to wait long for the API server.
	run sh -c 'trap "kill \$c || true; wait \$c || true; exit 0" TERM
		while :; do setpriv --pdeathsig KILL "$@" & c=$!; wait $c || sleep 1; done' controllers \
		"$controllers" --kubeconfig=controllers.yaml --leader-elect=false --secure-port=0 --root-ca-file=server.pem \
		--service-account-private-key-file=server.key --controllers=deployment-controller,replicaset-controller,statefulset-controller \
		--controllers=job-controller,ttl-after-finished-controller,persistentvolumeclaim-protection-controller \
		--controllers=garbage-collector-controller,namespace-controller,serviceaccount-controller,serviceaccount-token-controller,root-ca-certificate-publisher-controller
	others=$!
fi
trap 'for p in $others $serving $started; do kill $p || true; wait $p || true; done; exit 0' TERM
wait $serving
kill $started
exit 1
