from .auditing import AuditSettings as AuditSettings
from .auditing import audit as audit
from .conclusion import Audit as Audit
from .conclusion import Directions as Directions
