"""Logs of older and newer formats, read as format 3 and written as format 4.

Lines in, lines out. It must not know files, frames, or what an event means to a model.
"""

from slicetape.log.upgrade.chain import IMPORT_KIND, UpgradeReport, upgrade, upgrade_events
from slicetape.log.upgrade.export4 import export_v4
from slicetape.log.upgrade.header import header_3
from slicetape.log.upgrade.seqs import seq_now
from slicetape.log.upgrade.v4 import WRAPPER

__all__ = [
    "IMPORT_KIND",
    "WRAPPER",
    "UpgradeReport",
    "export_v4",
    "header_3",
    "seq_now",
    "upgrade",
    "upgrade_events",
]
