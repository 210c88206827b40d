"""Policies that end an attempt and begin the next one."""
