"""Find the processors and time segments on them; makes a profile."""

from evener.profile.find import find_processors as find_processors
from evener.profile.hand_off import measure_hand_off as measure_hand_off
from evener.profile.measure import profile_network as profile_network
from evener.profile.refine import estimated_segments as estimated_segments
from evener.profile.refine import measure_segments as measure_segments
