"""Volumes, each as the source beside its name."""

from tests.pod_corpus.parts import DOWNWARD, ITEMS, SELECTOR, Raw

VOLUMES: dict[str, Raw] = {
    "empty-dir": {"emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
    "host-path": {"hostPath": {"path": "/data", "type": "DirectoryOrCreate"}},
    "host-path-any": {"hostPath": {"path": "/data", "type": ""}},
    "config-map": {
        "configMap": {"name": "c", "defaultMode": 0o644, "optional": True, "items": ITEMS}
    },
    "secret": {
        "secret": {"secretName": "s", "defaultMode": 0o600, "optional": True, "items": ITEMS}
    },
    "claim": {"persistentVolumeClaim": {"claimName": "data", "readOnly": True}},
    "nfs": {"nfs": {"server": "nas", "path": "/", "readOnly": False}},
    "downward": {"downwardAPI": {"defaultMode": 0o444, "items": DOWNWARD}},
    "projected": {
        "projected": {
            "defaultMode": 0o444,
            "sources": [
                {"configMap": {"name": "c", "optional": True, "items": ITEMS}},
                {"downwardAPI": {"items": DOWNWARD}},
            ],
        }
    },
    "projected-secret": {
        "projected": {"sources": [{"secret": {"name": "s", "optional": True, "items": ITEMS}}]}
    },
    "trust-bundle": {
        "projected": {
            "sources": [
                {
                    "clusterTrustBundle": {
                        "signerName": "example.com/signer",
                        "labelSelector": SELECTOR,
                        "optional": True,
                        "path": "ca.pem",
                    }
                },
                {"clusterTrustBundle": {"name": "bundle", "path": "other.pem"}},
            ]
        }
    },
    "certificate": {
        "projected": {
            "sources": [
                {
                    "podCertificate": {
                        "signerName": "example.com/signer",
                        "keyType": "ED25519",
                        "maxExpirationSeconds": 3600,
                        "credentialBundlePath": "bundle.pem",
                        "userAnnotations": {"example.com/a": "b"},
                    }
                },
                {
                    "podCertificate": {
                        "signerName": "example.com/signer",
                        "keyType": "ED25519",
                        "keyPath": "key.pem",
                        "certificateChainPath": "chain.pem",
                    }
                },
            ]
        }
    },
    "ephemeral": {
        "ephemeral": {
            "volumeClaimTemplate": {
                "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}, "limits": {"storage": "2Gi"}},
                    "selector": SELECTOR,
                    "storageClassName": "fast",
                    "volumeAttributesClassName": "gold",
                    "volumeMode": "Filesystem",
                    "dataSource": {"apiGroup": "x.io", "kind": "Snapshot", "name": "s"},
                    "dataSourceRef": {"apiGroup": "x.io", "kind": "Snapshot", "name": "s"},
                },
            }
        }
    },
    "image": {"image": {"reference": "data:v1", "pullPolicy": "IfNotPresent"}},
    "csi": {
        "csi": {
            "driver": "d.io",
            "fsType": "ext4",
            "readOnly": True,
            "nodePublishSecretRef": {"name": "s"},
            "volumeAttributes": {"a": "b"},
        }
    },
    "aws": {
        "awsElasticBlockStore": {
            "volumeID": "v",
            "fsType": "ext4",
            "partition": 1,
            "readOnly": True,
        }
    },
    "gce": {
        "gcePersistentDisk": {"pdName": "v", "fsType": "ext4", "partition": 1, "readOnly": True}
    },
    "azure-disk": {
        "azureDisk": {
            "diskName": "d",
            "diskURI": "https://blob/d.vhd",
            "cachingMode": "None",
            "fsType": "ext4",
            "kind": "Shared",
            "readOnly": True,
        }
    },
    "azure-file": {"azureFile": {"secretName": "s", "shareName": "f", "readOnly": True}},
    "cephfs": {
        "cephfs": {
            "monitors": ["m"],
            "path": "/",
            "user": "u",
            "secretFile": "/f",
            "secretRef": {"name": "s"},
            "readOnly": True,
        }
    },
    "rbd": {
        "rbd": {
            "monitors": ["m"],
            "image": "i",
            "fsType": "ext4",
            "pool": "p",
            "user": "u",
            "keyring": "/k",
            "secretRef": {"name": "s"},
            "readOnly": True,
        }
    },
    "cinder": {
        "cinder": {
            "volumeID": "v",
            "fsType": "ext4",
            "readOnly": True,
            "secretRef": {"name": "s"},
        }
    },
    "fc": {"fc": {"targetWWNs": ["5"], "lun": 1, "fsType": "ext4", "readOnly": True}},
    "fc-wwids": {"fc": {"wwids": ["3"]}},
    "flex": {
        "flexVolume": {
            "driver": "a/b",
            "fsType": "ext4",
            "readOnly": True,
            "options": {"a": "b"},
            "secretRef": {"name": "s"},
        }
    },
    "flocker": {"flocker": {"datasetName": "d"}},
    "flocker-id": {"flocker": {"datasetUUID": "u"}},
    "git": {"gitRepo": {"repository": "r", "revision": "v", "directory": "d"}},
    "gluster": {"glusterfs": {"endpoints": "e", "path": "p", "readOnly": True}},
    "iscsi": {
        "iscsi": {
            "targetPortal": "10.0.0.1:3260",
            "portals": ["10.0.0.2:3260"],
            "iqn": "iqn.2001-04.com.example:storage",
            "lun": 1,
            "iscsiInterface": "default",
            "initiatorName": "iqn.2001-04.com.example:client",
            "fsType": "ext4",
            "readOnly": True,
            "chapAuthDiscovery": True,
            "chapAuthSession": True,
            "secretRef": {"name": "s"},
        }
    },
    "photon": {"photonPersistentDisk": {"pdID": "p", "fsType": "ext4"}},
    "portworx": {"portworxVolume": {"volumeID": "v", "fsType": "ext4", "readOnly": True}},
    "quobyte": {
        "quobyte": {
            "registry": "r:7861",
            "volume": "v",
            "user": "u",
            "group": "g",
            "tenant": "t",
            "readOnly": True,
        }
    },
    "scale-io": {
        "scaleIO": {
            "gateway": "https://g",
            "system": "s",
            "secretRef": {"name": "s"},
            "sslEnabled": True,
            "protectionDomain": "d",
            "storagePool": "p",
            "storageMode": "ThinProvisioned",
            "volumeName": "v",
            "fsType": "xfs",
            "readOnly": True,
        }
    },
    "storage-os": {
        "storageos": {
            "volumeName": "v",
            "volumeNamespace": "n",
            "fsType": "ext4",
            "readOnly": True,
            "secretRef": {"name": "s"},
        }
    },
    "vsphere": {
        "vsphereVolume": {
            "volumePath": "[d] v",
            "fsType": "ext4",
            "storagePolicyName": "n",
            "storagePolicyID": "i",
        }
    },
}
