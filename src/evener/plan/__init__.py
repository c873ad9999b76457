"""Decide which blocks run where: pure, no clock, no device; reads a profile, makes a plan."""

from evener.plan.board import board_profile as board_profile
from evener.plan.bound import find_bound as find_bound
from evener.plan.count import paper_configurations as paper_configurations
from evener.plan.decide import make_baseline as make_baseline
from evener.plan.decide import make_front as make_front
from evener.plan.decide import make_plan as make_plan
from evener.plan.foresee import with_simulated as with_simulated
from evener.plan.manual import Seat as Seat
from evener.plan.manual import make_manual_plan as make_manual_plan
from evener.plan.rivals import candidates as candidates
from evener.plan.simulate import simulate as simulate
