"""The Kubernetes backend: a device and its worker as the two containers of a Pod."""
