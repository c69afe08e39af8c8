"""How a store and the place it is in are: what a person should know before trouble comes."""

from memlog.doctor.diagnosis import Diagnosis, Symptom, diagnose

__all__ = ["Diagnosis", "Symptom", "diagnose"]
