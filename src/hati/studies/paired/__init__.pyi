from .study import PairedComparison as PairedComparison
from .study import PairedConclusion as PairedConclusion
from .study import PairedDesign as PairedDesign
from .study import Variant as Variant
from .study import paired_id as paired_id
from .study import shared_metrics as shared_metrics
