"""How far a judge agrees with people: chance-corrected measures, intervals, corrected pass rates, and what they permit.

Pure arithmetic over decisions. A number that can't be had is `Undefined` with the reason, never NaN and never 0.
"""

from rubricgrade.agreement.alpha import krippendorff_alpha
from rubricgrade.agreement.bootstrap import DRAWS, Interval, intervals
from rubricgrade.agreement.corrected import judged_rate, ppi, rogan_gladen
from rubricgrade.agreement.decision import Abstentions, Decision
from rubricgrade.agreement.joining import Joined, join
from rubricgrade.agreement.labels import Label, read_labels
from rubricgrade.agreement.measures import (
    accuracy,
    balanced_accuracy,
    cohen_kappa,
    phi,
    prevalence_gap,
    sensitivity,
    specificity,
)
from rubricgrade.agreement.number import Counts, Number, Pairs, Undefined
from rubricgrade.agreement.permission import permit
from rubricgrade.agreement.summary import Agreement, Estimate, Row, summarise

__all__ = [
    "DRAWS",
    "Abstentions",
    "Agreement",
    "Counts",
    "Decision",
    "Estimate",
    "Interval",
    "Joined",
    "Label",
    "Number",
    "Pairs",
    "Row",
    "Undefined",
    "accuracy",
    "balanced_accuracy",
    "cohen_kappa",
    "intervals",
    "join",
    "judged_rate",
    "krippendorff_alpha",
    "permit",
    "phi",
    "ppi",
    "prevalence_gap",
    "read_labels",
    "rogan_gladen",
    "sensitivity",
    "specificity",
    "summarise",
]
