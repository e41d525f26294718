class _Model:
    path: str

class _CpuParams:
    n_threads: int

class _Sampling:
    temp: float
    dry_multiplier: float

class CommonParams:
    model: _Model
    model_alias: set[str]
    hostnames: list[str]
    port: int
    api_keys: list[str]
    cors_origins: str
    cors_credentials: bool
    ui: bool
    n_ctx: int
    n_parallel: int
    n_gpu_layers: int
    fit_params: bool
    cache_ram_mib: int
    cache_idle_slots: bool
    cpuparams: _CpuParams
    cpuparams_batch: _CpuParams
    chat_template: str
    sampling: _Sampling
    verbosity: int

class Server:
    listening_address: str
    def __init__(self, params: CommonParams) -> None: ...
