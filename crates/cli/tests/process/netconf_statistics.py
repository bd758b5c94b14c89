"""What NETCONF's <get> has of streams that take several paths: for each port and stream a line of JSON.

Usage: netconf_statistics.py ssh HOST KEY KNOWN_HOSTS
       netconf_statistics.py socket PATH COMMAND...
"""

import json
import sys

from lxml import etree
from netconf_session import FRER, IF, sessions

NS = {"if": IF, "f": FRER}
only = f'<interfaces xmlns="{IF}"><interface><statistics/></interface></interfaces>'

with sessions(*sys.argv[1:])() as one:
    reply = etree.fromstring(one.get(filter=("subtree", only)).data_xml.encode())
for interface in reply.iterfind(".//if:interface", NS):
    for entry in interface.iterfind("if:statistics/f:frer/f:per-port-per-stream-counters", NS):
        counts = {etree.QName(leaf).localname: leaf.text for leaf in entry}
        print(json.dumps({"port": interface.findtext("if:name", None, NS), **counts}))
