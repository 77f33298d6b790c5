"""Causes of EC2 error codes (EC2 API reference, "Error codes"). Codes not listed here are classified by prefix or suffix."""

from services.provisioner.core.instances.refusals import Cause, LaunchRefusal

_CODES: dict[Cause, str] = {
    "no_capacity": "InsufficientInstanceCapacity InsufficientHostCapacity InsufficientCapacity"
    " InsufficientReservedInstanceCapacity InsufficientCapacityOnHost UnfulfillableCapacity SpotMaxPriceTooLow",
    "quota": "InstanceLimitExceeded VcpuLimitExceeded MaxSpotInstanceCountExceeded InsufficientFreeAddressesInSubnet"
    " VolumeLimitExceeded MaxIOPSLimitExceeded NetworkInterfaceLimitExceeded AddressLimitExceeded ResourceLimitExceeded",
    "throttled": "RequestLimitExceeded Throttling ThrottlingException RequestThrottled RequestThrottledException"
    " EC2ThrottledException SlowDown TooManyRequestsException",
    "credentials": "AuthFailure UnauthorizedOperation InvalidClientTokenId SignatureDoesNotMatch ExpiredToken"
    " ExpiredTokenException RequestExpired OptInRequired PendingVerification Blocked MissingAuthenticationToken"
    " IncompleteSignature AccessDenied AccessDeniedException UnrecognizedClientException",
    "bad_request": "MissingParameter UnknownParameter ValidationError ParameterNotSupported Unsupported"
    " UnsupportedOperation UnsupportedHibernationConfiguration InstanceTypeNotSupported OperationNotPermitted"
    " VPCIdNotSpecified DryRunOperation",
}
_CAUSES = {code: cause for cause, codes in _CODES.items() for code in codes.split()}
_WAYS_OUT: dict[Cause, str] = {
    "no_capacity": "allow another kind, zone or purchase in the pool, or wait",
    "quota": "ask AWS to raise the limit, or lower the pool's maximum",
    "credentials": "check the provisioner's key, its clock, and that its role may call ec2:RunInstances, ec2:CreateTags,"
    " ec2:DescribeInstances and ec2:TerminateInstances",
    "bad_request": "correct the pool's AWS settings",
}

NO_ANSWER = frozenset(
    {"InternalError", "InternalFailure", "ServiceUnavailable", "Unavailable", "RequestTimeout"}
)
"""Codes after which the outcome of a call is unknown."""


def cause_of(code: str) -> Cause:
    """Return the cause of an error; `unknown` for other codes."""
    found = _CAUSES.get(code)
    if found is not None:
        return found
    is_ours = code.startswith(("Invalid", "Malformed", "Missing")) or code.endswith(
        (".NotFound", ".Malformed")
    )
    return "bad_request" if is_ours else "unknown"


def refusal(code: str, message: str, where: str) -> LaunchRefusal:
    """Return the refusal of a launch with a message for users; `where` names the offer."""
    cause = cause_of(code)
    way_out = _WAYS_OUT.get(cause)
    text = f"AWS refused {where}: {message.rstrip('.')} ({code})"
    return LaunchRefusal(cause, f"{text}; {way_out}" if way_out else text)
