"""The fault campaign: a pool is used by several threads while memories, links and engine fail, and every answer of it
is checked against what it must be.

`run` gives a `Result`; `speckv.campaign.output` prints it.
"""

from speckv.campaign.faults import Fault
from speckv.campaign.run import AbandonedError, CampaignError, Result, Tally, run

__all__ = ["AbandonedError", "CampaignError", "Fault", "Result", "Tally", "run"]
