"""ncclient, a NETCONF client of others, against `ontick switch netconf`: over SSH, or on a socket in place of its channel.

Usage: netconf_client.py ssh HOST KEY KNOWN_HOSTS
       netconf_client.py socket PATH COMMAND...
"""

import sys
import time
from urllib.parse import parse_qs, urlsplit

from lxml import etree
from ncclient.operations import RPCError
from netconf_session import FRER, IF, sessions

session = sessions(*sys.argv[1:])


BRIDGE = "urn:ieee:std:802.1Q:yang:ieee802-dot1q-bridge"
SCHED = "urn:ieee:std:802.1Q:yang:ieee802-dot1q-sched-bridge"
PSFP = "urn:ieee:std:802.1Q:yang:ieee802-dot1q-psfp-bridge"
STREAMS = "urn:ieee:std:802.1Q:yang:ieee802-dot1cb-stream-identification"
LIBRARY = "urn:ietf:params:xml:ns:yang:ietf-yang-library"
NC = "urn:ietf:params:xml:ns:netconf:base:1.0"
NS = {"if": IF, "b": BRIDGE, "s": SCHED, "p": PSFP, "i": STREAMS, "f": FRER, "l": LIBRARY}


def gates(inner):
    return (
        f'<interfaces xmlns="{IF}"><interface><name>port1</name><bridge-port xmlns="{BRIDGE}">'
        f'<gate-parameter-table xmlns="{SCHED}">{inner}</gate-parameter-table></bridge-port></interface></interfaces>'
    )


def config(inner):
    return f'<config xmlns="urn:ietf:params:xml:ns:netconf:base:1.0">{gates(inner)}</config>'


def entry(index, ns):
    return f"<gate-control-entry><index>{index}</index><time-interval-value>{ns}</time-interval-value></gate-control-entry>"


def times(data):
    reply = etree.fromstring(data.data_xml.encode())
    return [node.text for node in reply.iterfind(".//s:gate-control-entry/s:time-interval-value", NS)]


def refused(tag, act, *words):
    try:
        act()
    except RPCError as error:
        assert error.tag == tag, (error.tag, error.message)
        for word in words:
            assert word in f"{error.message} {error.path} {error.info}", (word, error.message, error.path, error.info)
        return
    raise AssertionError(f"not refused with {tag}")


def found_by_path(store, edit, tag, path_ends, *words):
    """The error of an edit has a path that leads to one element of what is stored, and a sentence that names it."""
    try:
        edit()
    except RPCError as error:
        assert error.tag == tag, (error.tag, error.message)
        element = etree.fromstring(error.xml if isinstance(error.xml, bytes) else etree.tostring(error.xml))
        prefixes = element.find("nc:error-path", {"nc": NC}).nsmap
        data = etree.fromstring(store().data_xml.encode())
        found = data.xpath("/nc:data" + error.path, namespaces={**{k: v for k, v in prefixes.items() if k}, "nc": NC})
        assert len(found) == 1, (error.path, etree.tostring(data))
        assert etree.QName(found[0]).localname == path_ends, (error.path, path_ends)
        for word in words:
            assert word in error.message, (word, error.message)
        return
    raise AssertionError(f"not refused with {tag}")


def until(what, condition):
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < 60, f"waited in vain for {what}"
        time.sleep(0.05)


def windows(first):
    return config(f"<admin-control-list>{entry(0, first)}{entry(1, 1_000_000 - first)}</admin-control-list>")


def commits_are_confirmed():
    with session() as one, session() as two:
        def running():
            return int(times(two.get_config("running"))[0])

        def tries(first, **how):
            one.edit_config(target="candidate", config=windows(first))
            one.commit(confirmed=True, **how)
            assert running() == first

        refused("operation-failed", one.cancel_commit)
        tries(500_000, timeout="600")
        refused("in-use", two.commit, one.session_id)
        refused("in-use", two.cancel_commit)
        refused("lock-denied", lambda: two.lock("running"), one.session_id)
        one.commit()
        assert running() == 500_000
        tries(400_000)
        one.cancel_commit()
        assert running() == 500_000
        # It may be over before anybody looks.
        one.edit_config(target="candidate", config=windows(400_000))
        one.commit(confirmed=True, timeout="1")
        until("the time to end", lambda: running() == 500_000)

        tries(400_000, persist="mine")
        with one.locked("running"):
            refused("in-use", lambda: two.cancel_commit(persist_id="mine"), one.session_id)
            assert running() == 400_000
        refused("invalid-value", lambda: two.commit(persist_id="other"), "other")
        refused("in-use", two.commit, "persist-id")
        two.commit(persist_id="mine")
        assert running() == 400_000
        refused("invalid-value", lambda: two.cancel_commit(persist_id="mine"))
        # Persistent ones outlast their session, others do not.
        with session() as three:
            three.edit_config(target="candidate", config=windows(300_000))
            three.commit(confirmed=True, persist="mine")
        assert running() == 300_000
        two.cancel_commit(persist_id="mine")
        assert running() == 400_000
        with session() as three:
            three.edit_config(target="candidate", config=windows(300_000))
            three.commit(confirmed=True)
            assert running() == 300_000
        until("the session's commit to go with it", lambda: running() == 400_000)
        two.edit_config(target="candidate", config=windows(800_000))
        two.commit()


def startup_is_kept():
    with session() as one, session() as two:
        def first(store):
            found = times(two.get_config(store))
            return int(found[0]) if found else None

        assert ":startup" in one.server_capabilities
        assert first("startup") is None
        refused("data-missing", lambda: one.validate("startup"))
        refused("data-missing", lambda: one.delete_config("startup"))
        one.copy_config(source="running", target="startup")
        assert first("startup") == first("running") == 800_000
        one.validate("startup")

        # Of candidate, and back into it.
        one.edit_config(target="candidate", config=windows(400_000))
        one.copy_config(source="candidate", target="startup")
        one.discard_changes()
        assert (first("startup"), first("running")) == (400_000, 800_000)
        one.copy_config(source="startup", target="candidate")
        one.commit()
        assert first("running") == 400_000
        one.edit_config(target="candidate", config=windows(800_000))
        one.commit()
        assert first("startup") == 400_000

        # What goes unless it is confirmed is not kept.
        one.edit_config(target="candidate", config=windows(300_000))
        one.commit(confirmed=True)
        refused("in-use", lambda: two.copy_config(source="running", target="startup"), one.session_id)
        one.cancel_commit()

        with two.locked("startup"):
            refused("lock-denied", lambda: one.lock("startup"), two.session_id)
            refused("in-use", lambda: one.copy_config(source="running", target="startup"), two.session_id)
            refused("in-use", lambda: one.delete_config("startup"), two.session_id)
            two.delete_config("startup")
            assert first("startup") is None
        refused("operation-not-supported", lambda: one.edit_config(target="startup", config=windows(300_000)))
        refused("operation-not-supported", lambda: one.copy_config(source="startup", target="running"))
        refused("invalid-value", lambda: one.copy_config(source="startup", target="startup"))
        one.copy_config(source="running", target="startup")


def may_lock(one):
    try:
        one.lock("running")
        return True
    except RPCError as error:
        assert error.tag == "lock-denied", error.tag
        return False


def stream(size, filter_more="", tagged="tagged", spec="wildcard", gate=0):
    """A stream filter of the switch "cell", with the stream that it is of and a gate that is always open."""
    return (
        f'<config xmlns="{NC}"><stream-identity xmlns="{STREAMS}"><index>1</index><handle>5</handle>'
        f"<out-facing><input-port>port0</input-port></out-facing><null-stream-identification>"
        f"<destination-mac>02-00-00-00-01-0A</destination-mac><tagged>{tagged}</tagged><vlan>10</vlan>"
        f'</null-stream-identification></stream-identity><bridges xmlns="{BRIDGE}"><bridge><name>cell</name><component>'
        f'<name>cell</name><stream-gates xmlns="{PSFP}"><stream-gate-instance-table><stream-gate-instance-id>0'
        f"</stream-gate-instance-id></stream-gate-instance-table></stream-gates>"
        f'<stream-filters xmlns="{PSFP}"><stream-filter-instance-table><stream-filter-instance-id>5'
        f"</stream-filter-instance-id><stream-handle>5</stream-handle><priority-spec>{spec}</priority-spec>"
        f"<max-sdu-size>{size}</max-sdu-size><stream-gate-ref>{gate}</stream-gate-ref>{filter_more}"
        f"</stream-filter-instance-table></stream-filters></component></bridge></bridges></config>"
    )


def streams_are_policed():
    with session() as one:
        def sizes(store):
            reply = etree.fromstring(one.get_config(store).data_xml.encode())
            found = reply.iterfind(".//p:stream-filter-instance-table", NS)
            return [(item.findtext("p:stream-handle", None, NS), item.findtext("p:max-sdu-size", None, NS)) for item in found]

        def edit(config):
            one.edit_config(target="candidate", config=config)

        assert any("module=ieee802-dot1q-psfp-bridge&" in uri for uri in one.server_capabilities)
        assert sizes("running") == []
        edit(stream(300))
        assert (sizes("candidate"), sizes("running")) == ([("5", "300")], [])
        one.validate("candidate")
        one.commit()
        assert sizes("running") == [("5", "300")]
        edit(stream(400))
        one.commit(confirmed=True)
        assert sizes("running") == [("5", "400")]
        one.cancel_commit()
        assert sizes("running") == [("5", "300")]
        one.copy_config(source="candidate", target="startup")
        assert sizes("startup") == [("5", "300")]

        # What is refused changes nothing.
        refused("invalid-value", lambda: edit(stream(300, spec="six")), "wildcard", "priority-spec")
        refused("unknown-element", lambda: edit(stream(300, "<wildcard/>")), "wildcard")
        refused("invalid-value", lambda: edit(stream(300, gate=3)), "no stream gate 3")
        refused("bad-element", lambda: edit(stream(300, "<max-sdu-size>400</max-sdu-size>")), "is there twice")
        refused("invalid-value", lambda: edit(stream(300, tagged="all")), "vlan 10")
        refused("invalid-value", lambda: edit(stream(30)), "no frame carries less than 42 octets")
        address = f'<config xmlns="{NC}"><bridges xmlns="{BRIDGE}"><bridge><name>cell</name><address>02-00-00-00-00-01</address></bridge></bridges></config>'
        refused("operation-not-supported", lambda: edit(address), "only the streams")
        assert sizes("candidate") == [("5", "300")]
        one.copy_config(source="startup", target="candidate")
        edit(f'<config xmlns="{NC}" xmlns:nc="{NC}"><stream-identity xmlns="{STREAMS}" nc:operation="delete"><index>1</index></stream-identity>'
             f'<bridges xmlns="{BRIDGE}"><bridge><name>cell</name><component><name>cell</name>'
             f'<stream-filters xmlns="{PSFP}" nc:operation="delete"/></component></bridge></bridges></config>')
        one.copy_config(source="candidate", target="startup")
        one.commit()
        assert (sizes("startup"), sizes("running")) == ([], [])


def several_paths(history, handle=5, algorithm="vector"):
    """A stream whose copies are dropped; what comes in by port0."""
    return (
        f'<config xmlns="{NC}"><stream-identity xmlns="{STREAMS}"><index>1</index><handle>5</handle>'
        f"<out-facing><input-port>port0</input-port></out-facing><null-stream-identification>"
        f"<destination-mac>02-00-00-00-01-0A</destination-mac><tagged>all</tagged></null-stream-identification>"
        f'</stream-identity><frer xmlns="{FRER}"><sequence-recovery><index>5</index><stream>{handle}</stream>'
        f"<port>port0</port><direction-out-facing>true</direction-out-facing><algorithm><{algorithm}/></algorithm>"
        f"<history-length>{history}</history-length><reset-timeout>100</reset-timeout></sequence-recovery>"
        f"<sequence-identification><stream>5</stream><port>port0</port><direction-out-facing>true</direction-out-facing>"
        f"<active>false</active><encapsulation><r-tag/></encapsulation></sequence-identification></frer></config>"
    )


def copies_are_dropped():
    with session() as one:
        only = ("subtree", f'<frer xmlns="{FRER}"/>')

        def histories(store):
            reply = etree.fromstring(one.get_config(store, filter=only).data_xml.encode())
            assert (reply.find(".//f:vector", NS) is None) == (reply.find(".//f:r-tag", NS) is None)
            return [node.text for node in reply.iterfind(".//f:sequence-recovery/f:history-length", NS)]

        def edit(config):
            one.edit_config(target="candidate", config=config)

        assert any("module=ieee802-dot1cb-frer&" in uri for uri in one.server_capabilities)
        assert histories("running") == []
        edit(several_paths(20))
        assert (histories("candidate"), histories("running")) == (["20"], [])
        one.validate("candidate")
        one.commit()
        assert histories("running") == ["20"]
        edit(several_paths(30))
        one.commit(confirmed=True)
        assert histories("running") == ["30"]
        one.cancel_commit()
        assert histories("running") == ["20"]
        one.copy_config(source="running", target="startup")
        assert histories("startup") == ["20"]

        # What is refused changes nothing.
        candidate = lambda: one.get_config("candidate")
        found_by_path(candidate, lambda: edit(several_paths(500)), "invalid-value", "history-length", "from 2 to 128")
        refused("unknown-element", lambda: edit(several_paths(20, algorithm="newest")), "newest", "sequence-recovery")
        refused("invalid-value", lambda: edit(several_paths(20, algorithm="match")), "vector algorithm")
        refused("invalid-value", lambda: edit(several_paths(20, handle=9)), "several streams", "sequence-recovery")
        assert histories("candidate") == ["20"]
        gone = f'xmlns:nc="{NC}" nc:operation="delete"'
        refused(
            "invalid-value",
            lambda: edit(f'<config xmlns="{NC}"><frer xmlns="{FRER}"><sequence-recovery {gone}><index>5</index>'
                         f"</sequence-recovery></frer></config>"),
            "no sequence-recovery looks at its numbers",
        )
        edit(f'<config xmlns="{NC}"><frer xmlns="{FRER}" {gone}/><stream-identity xmlns="{STREAMS}" {gone}><index>1</index>'
             f"</stream-identity></config>")
        one.copy_config(source="candidate", target="startup")
        one.commit()
        assert (histories("startup"), histories("running")) == ([], [])


def gates_come_and_go():
    with session() as one:
        def edit(inner):
            one.edit_config(target="candidate", config=config(inner))

        def found(store, leaf):
            reply = etree.fromstring(one.get_config(store, filter=("subtree", gates(""))).data_xml.encode())
            return [node.text for node in reply.iterfind(f".//s:{leaf}", NS)]

        def gated():
            return found("running", "gate-enabled"), times(one.get_config("running"))

        def sized(octets):
            return f"<queue-max-sdu-table><traffic-class>1</traffic-class><queue-max-sdu>{octets}</queue-max-sdu></queue-max-sdu-table>"

        closed, opened = (["false"], []), (["true"], ["800000", "200000"])
        whole = etree.fromstring(one.get_config("running").data_xml.encode()).find("if:interfaces", NS)
        assert gated() == opened
        edit("<gate-enabled>false</gate-enabled>")
        one.commit(confirmed=True)
        assert gated() == closed
        one.cancel_commit()
        assert gated() == opened
        # Without the table there are none, either.
        table = gates("").replace(f'<gate-parameter-table xmlns="{SCHED}"', f'<gate-parameter-table xmlns="{SCHED}" xmlns:nc="{NC}" nc:operation="delete"')
        one.edit_config(target="candidate", config=f'<config xmlns="{NC}">{table}</config>')
        one.commit()
        assert gated() == closed
        one.edit_config(target="candidate", config=f'<config xmlns="{NC}">{etree.tostring(whole).decode()}</config>')
        one.commit()
        assert gated() == opened

        edit(sized(200))
        one.commit()
        assert found("running", "queue-max-sdu") == ["200"]
        refused("invalid-value", lambda: edit(sized(3000)), "queue-max-sdu 3000", "port1")
        edit(sized(0))
        one.commit()
        assert found("running", "queue-max-sdu") == []


commits_are_confirmed()
startup_is_kept()
def modules_are_those_of_the_greeting():
    with session() as one:
        library = etree.fromstring(one.get(filter=("subtree", f'<modules-state xmlns="{LIBRARY}"/>')).data_xml.encode())
        kinds = {"implement": set(), "import": set()}
        for module in library.iterfind(".//l:module", NS):
            of = lambda key: [node.text for node in module.iterfind(f"l:{key}", NS)]
            kinds[of("conformance-type")[0]].add((*of("name"), *of("revision"), ",".join(of("feature"))))
        uris = [parse_qs(urlsplit(uri).query) for uri in one.server_capabilities if "?module=" in uri]
        greeted = {tuple(uri.get(key, [""])[0] for key in ("module", "revision", "features")) for uri in uris}
        assert kinds["implement"] == greeted and len(greeted) > 10 and kinds["import"], (kinds, greeted)
        assert ("ieee802-dot1q-sched", "2023-10-22", "scheduled-traffic") in greeted
        (id,) = [node.text for node in library.iterfind(".//l:module-set-id", NS)]
        assert any(f"yang-library:1.0?revision=2019-01-04&module-set-id={id}" in uri for uri in one.server_capabilities)
        assert LIBRARY not in one.get_config("running").data_xml, "it is state"


gates_come_and_go()
streams_are_policed()
copies_are_dropped()
modules_are_those_of_the_greeting()
with session() as one:
    # Killed, and so not to be closed.
    two = session()
    assert ":candidate" in one.server_capabilities and ":validate" in one.server_capabilities
    assert ":confirmed-commit" in one.server_capabilities
    assert one.session_id != two.session_id
    assert times(one.get_config("running")) == ["800000", "200000"]
    filtered = one.get_config("running", filter=("subtree", gates("<gate-enabled/>")))
    assert "port1" in filtered.data_xml and "port0" not in filtered.data_xml and times(filtered) == []
    assert ">up</" in one.get().data_xml

    with one.locked("candidate"):
        one.edit_config(target="candidate", config=windows(600_000))
        assert times(one.get_config("candidate")) == ["600000", "400000"]
        assert times(one.get_config("running")) == ["800000", "200000"]
        assert times(two.get_config("candidate")) == ["800000", "200000"]
        one.validate("candidate")
        two.lock("running")
        refused("lock-denied", lambda: one.lock("running"), two.session_id)
        refused("in-use", one.commit, two.session_id)
        two.unlock("running")
        one.commit()
    assert times(two.get_config("running")) == ["600000", "400000"]

    # Who began before another one's commit does not undo it unawares.
    change = windows(700_000)
    one.edit_config(target="candidate", config=change)
    two.edit_config(target="candidate", config=change)
    two.commit()
    refused("operation-failed", one.commit, "changed by somebody else")
    # What runs now, copied, is where it begins again.
    one.copy_config(source="running", target="candidate")
    one.commit()
    assert times(one.get_config("running")) == ["700000", "300000"]

    edit = one.edit_config
    states = config("<admin-gate-states>256</admin-gate-states>")
    refused("invalid-value", lambda: edit(target="candidate", config=states), "255", "port1")
    refused("unknown-element", lambda: edit(target="candidate", config=config("<no-such-leaf/>")), "no-such-leaf")
    candidate = lambda: one.get_config("candidate")
    found_by_path(
        candidate, lambda: edit(target="candidate", config=states), "invalid-value", "admin-gate-states", "interface port1", "255"
    )
    found_by_path(
        candidate, lambda: edit(target="candidate", config=windows(999_000)), "invalid-value", "gate-control-entry",
        "interface port1, gate-control-entry 1: `red` (traffic class 1) is open for 1us",
    )
    plain = config("").replace("<gate-parameter-table", '<gate-parameter-table operation="delete"')
    refused("unknown-attribute", lambda: edit(target="candidate", config=plain), "operation")
    preempted = config("").replace(
        "<gate-parameter-table",
        '<frame-preemption-parameters xmlns="urn:ieee:std:802.1Q:yang:ieee802-dot1q-preemption-bridge">'
        "<frame-preemption-status-table><priority0>preemptable</priority0></frame-preemption-status-table>"
        "</frame-preemption-parameters><gate-parameter-table",
    )
    refused("operation-not-supported", lambda: edit(target="candidate", config=preempted), "port1")
    refused("operation-not-supported", lambda: edit(target="running", config=config("")))
    refused("operation-not-supported", lambda: one.delete_config("candidate"))
    assert times(one.get_config("candidate")) == ["700000", "300000"], "what was refused changed nothing"

    two.lock("running")
    one.kill_session(two.session_id)
    until("the other session's end", lambda: may_lock(one))
    one.unlock("running")

print("done")
