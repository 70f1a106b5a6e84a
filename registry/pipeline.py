"""Pipelines: a chain of tool calls as data. Values go from step to step raw and typed, and who chose them goes along.

Start with `load_pipeline`, then `plan_pipeline` (the dry run), then `run_pipeline`.
"""

from registry._pipeline_check import load_pipeline, parse_pipeline
from registry._pipeline_model import ForEach, Pipeline, Step, WhenEquals, WhenExists
from registry._pipeline_plan import ArgumentPlan, Plan, StepPlan, plan_pipeline
from registry._pipeline_run import PipelineResult, StepResult, run_pipeline

__all__ = [
    "ArgumentPlan",
    "ForEach",
    "Pipeline",
    "PipelineResult",
    "Plan",
    "Step",
    "StepPlan",
    "StepResult",
    "WhenEquals",
    "WhenExists",
    "load_pipeline",
    "parse_pipeline",
    "plan_pipeline",
    "run_pipeline",
]
