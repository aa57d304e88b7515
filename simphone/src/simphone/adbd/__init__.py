"""The phone's adbd: the device's end of adb's transport, and the services behind it.

`server.Adbd` listens, `transport.Connection` is one adb server's connection, `stream.Stream` one
conversation on it; `services.Services` says who answers a service's name.
"""
