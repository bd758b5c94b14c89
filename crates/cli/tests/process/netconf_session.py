"""Sessions of ncclient with `ontick switch netconf`: over SSH, or on a socket in place of its channel."""

import socket
import subprocess
import threading

from ncclient import manager

IF = "urn:ietf:params:xml:ns:yang:ietf-interfaces"
FRER = "urn:ieee:std:802.1Q:yang:ieee802-dot1cb-frer"


def over_ssh(host, key, known_hosts):
    with open(known_hosts, encoding="ascii") as file:
        host_key = next(line.split()[2] for line in file if line.startswith(f"{host} "))
    return lambda: manager.connect_ssh(
        host=host, port=22, username="root", key_filename=key, hostkey_b64=host_key, look_for_keys=False, allow_agent=False
    )


def on_socket(path, *command):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()

    def serve():
        while True:
            connection, _ = listener.accept()
            server = subprocess.Popen(command, stdin=connection, stdout=connection)
            connection.close()
            threading.Thread(target=server.wait, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    return lambda: manager.connect_uds(path=path)


def sessions(kind, *words):
    """What begins a session, as the words of a command line say: ssh HOST KEY KNOWN_HOSTS, or socket PATH COMMAND..."""
    return {"ssh": over_ssh, "socket": on_socket}[kind](*words)
