"""The fault campaign: a pool is used by several threads while memories, links and engine fail, and every answer of it
is checked against what it must be.

`run` gives a `Result`; `speckv.campaign.output` prints it.
"""

from speckv.campaign.faults import Fault
from speckv.campaign.run import CampaignError, Result, StandstillError, Tally, run

__all__ = ["CampaignError", "Fault", "Result", "StandstillError", "Tally", "run"]
