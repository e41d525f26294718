"""What runs or lives outside of tau, one folder each; none of them knows another."""
