"""What is done without being asked: level-triggered, from what is stored alone.

`hosts` keeps what hosts provide, `placer` tries what waits, `admission` lets in what is placed, both where `waiting`
finds something; `rounds` is all of it in order.
"""
