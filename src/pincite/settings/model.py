"""What there is to set, with ranges and defaults."""

from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

from pincite.domain import version
from pincite.domain.budget import Budget
from pincite.settings.values import Names, Pairs, SecretPairs, Weights, read_table, read_tables, split_list

PROFILES = ("quick", "standard", "thorough", "offline")
Profile = Literal["quick", "standard", "thorough", "offline"]


def _key(description: str, *also: str) -> Any:  # what pydantic's own Field returns
    return Field(default=None, description=description, json_schema_extra={"also": list(also)})


class Settings(BaseModel):
    """All settings of one Pincite, validated. Secrets never show in `repr`, logs or errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    profile: Profile = Field("standard", description="Preset of caps and counts; each is a file of the package.")
    home: Path = Field(
        default_factory=lambda: platformdirs.user_data_path("pincite"),
        description="Folder of the database and the indexes. Default: the platform's data folder.",
    )
    database_url: SecretStr | None = Field(None, description="Another database than the SQLite file in `home`.")
    redis_url: SecretStr | None = Field(
        None, description="Redis or Valkey for the limits, breakers and cache of all workers; wins over Upstash."
    )
    upstash_redis_rest_url: str | None = _key("The same in Upstash: its REST address.", "UPSTASH_REDIS_REST_URL")
    upstash_redis_rest_token: SecretStr | None = _key("Token of Upstash.", "UPSTASH_REDIS_REST_TOKEN")
    scope: str = Field("local", description="Owner of what this process stores; nothing crosses scopes.")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="What `serve` and `worker` log to stderr at least."
    )
    log_format: Literal["text", "json"] = Field("text", description="Log lines for people or for programs.")
    otel_endpoint: str | None = _key(
        "Collector of OpenTelemetry for traces (OTLP over HTTP).", "OTEL_EXPORTER_OTLP_ENDPOINT"
    )
    runs_keep_days: int | None = Field(None, ge=1, description="Days after which ended runs and their reports go.")
    events_keep_days: int | None = Field(None, ge=1, description="Days after which the events of ended runs go.")
    captures_keep_days: int | None = Field(None, ge=1, description="Days after which pages that no run uses go.")
    captures_max_mb: int | None = Field(None, ge=0, description="Megabytes of a user's pages; unused ones go above it.")
    runs_per_scope: int = Field(4, ge=1, le=1000, description="Runs of one user that workers do at a time.")
    server_jobs: int = Field(
        4, ge=1, le=256, description="Runs that a server works on side by side, by turns of users."
    )
    server_jobs_per_key: int = Field(
        32, ge=1, le=256, description="Runs of one key that a server works on or keeps waiting; another one is refused."
    )
    server_streams_per_key: int = Field(
        50, ge=1, le=1000, description="Streams that one key may have open at a server."
    )
    transaction_pooler: bool = Field(
        False, description="PostgreSQL is behind a transaction pooler: workers poll each second instead of listening."
    )

    webhook_secret: SecretStr | None = Field(
        None, description="What signs webhooks, the same on all servers; by default a file of the home, made once."
    )
    log_keep_days: int = Field(90, ge=0, description="Days that the log of calls is kept (`pincite log`).")

    llm: str = Field(
        "none", description="Language model as PROVIDER:NAME (docs/models.md), or `none` for extractive mode."
    )
    source: Names = Field(
        ("auto",), description="Search sources: `auto`, provider names, or `local:PATH`; several by comma."
    )
    library: Path | None = Field(None, description="Local library that `research` uses when no source is named.")

    # ---- caps of a run ----
    max_rounds: int = Field(2, ge=1, le=20, description="Rounds of search and reading at most.")
    max_searches: int = Field(30, ge=0, description="Searches of a run at most.")
    max_pages: int = Field(20, ge=0, description="Pages a run reads at most.")
    max_web_requests: int | None = Field(
        None, ge=0, description="All requests of a run together: searches, pages, robots, redirects, retries."
    )
    max_cost_usd: Decimal | None = Field(None, ge=0, description="US dollars a run may spend.")
    max_tokens: int | None = Field(None, ge=0, description="Model tokens a run may read, and as many it may write.")
    deadline_s: float | None = Field(300.0, gt=0, description="Seconds after which a run ends with what it has.")
    results_per_query: int = Field(5, ge=1, le=50, description="Search results asked for per query.")
    pages_per_round: int = Field(12, ge=1, description="Pages read per round at most.")
    per_domain_cap: int = Field(3, ge=1, description="Results per registrable domain; off for local sources and --url.")
    queries_per_round: int = Field(24, ge=1, description="Queries sent per round at most.")
    follow_ups_per_sub_question: int = Field(
        3, ge=0, le=10, description="Further queries per round for a sub-question that is open."
    )
    keep_undated: bool = Field(True, description="Keep pages without a date when `since` or `until` is set.")
    revalidate_after_h: float | None = Field(
        24.0,
        ge=0,
        description="Hours after which a cited page is confirmed with its site before the report is written.",
    )
    domain_quality: Weights = Field(
        {}, description="Which domain stands for a cluster of near-copies, higher first; 0 for those not named."
    )
    require_coverage: float | None = Field(
        None,
        gt=0,
        le=1,
        description="Share of the question's parts that must be answered; below it one more round is made, and then the"
        " run ends with COVERAGE_NOT_MET and the smaller report.",
    )
    independent_share: float | None = Field(
        None, ge=0, le=1, description="Share of claims that should rest on two independent sources; others get marked."
    )
    embeddings: str = Field(
        "auto",
        description="Rank passages by meaning too: `auto` where the extra `embeddings` is installed; `none` by words; "
        "`minilm`; an installed package's, by name; a folder with a model; a server, as `http(s)://HOST/v1#MODEL`.",
    )
    embeddings_api_key: SecretStr | None = _key("Key of a server that `embeddings` names.")
    reranker: str = Field(
        "none",
        description="Who reads the best passages again with the question, for their order: `none`; a folder with a "
        "cross-encoder or a fetched one; a server, as `http(s)://HOST/v1#MODEL`; an installed package's, by name.",
    )
    reranker_api_key: SecretStr | None = _key("Key of a server that `reranker` names.")
    max_domain_share: float = Field(
        0.7, gt=0, le=1, description="Largest share of claims from one domain where others have as much to say."
    )

    # ---- language model ----
    llm_roles: Pairs = Field(
        {}, description="Models of single roles (planner, verifier, writer); `none`: without a model."
    )
    llm_allowed: Names = Field((), description="Further models that a request over HTTP may ask for by name.")
    llm_fallbacks: Names = Field((), description="Models to ask when the first one fails, in order.")
    llm_base_url: str | None = Field(
        None,
        description="Base URL of a server that speaks the OpenAI protocol, for models without a provider and, unless "
        "`openai_base_url` is set, `openai:` ones.",
    )
    llm_api_key: SecretStr | None = _key("Key for `llm_base_url`.")
    llm_effort: Pairs = Field(
        {}, description='How long models of single roles think: none, minimal, low, medium, high, max: writer = "high".'
    )
    llm_servers: Pairs = Field(
        {}, description='Servers of your own that speak the OpenAI protocol, by name: gpu = "http://gpu:8000/v1".'
    )
    llm_keys: SecretPairs = Field(
        {}, description='Keys by server or provider (docs/models.md): xai = "..."; models are SERVER:NAME then.'
    )
    llm_output_mode: Literal["auto", "native", "tool", "prompted"] = Field(
        "auto", description="How typed answers are asked for; `prompted` suits small local models."
    )
    llm_timeout_s: float = Field(180.0, gt=0, le=600, description="Seconds for one answer of a model, at most 600.")
    llm_retries: int = Field(2, ge=0, le=5, description="More attempts at one model after passing faults.")
    llm_concurrency: int = Field(8, ge=1, le=64, description="Calls to models at the same time.")
    llm_temperature: float | None = Field(None, ge=0, le=2, description="Sampling temperature; unset is the model's.")
    llm_prices: Pairs = Field(
        {}, description='Dollars for a million tokens as IN/OUT or IN/OUT/CACHED: "my-model" = "0.15/0.60".'
    )
    llm_extractive_fallback: bool = Field(
        True, description="Do a role's work by rules when no model can; the report says so."
    )
    llm_source_tokens: int = Field(
        20_000, ge=500, description="Tokens of all pages together that a model composes a report from."
    )

    # ---- fetch ----
    user_agent: str | None = Field(None, description="User agent in full; the default is Pincite/VERSION (+CONTACT).")
    user_agent_contact: str | None = Field(
        None,
        max_length=200,
        pattern=r"^(https?://[!-'*-~]+|[!-'*-?A-~]+@[!-'*-?A-~]+)$",  # ASCII without brackets: it stands in a header
        description="Address or URL for whoever runs a site that is read; part of the user agent.",
    )
    archives: Literal["wayback", "none"] = Field(
        "wayback",
        description="Archive that audits ask about dead addresses; about local hosts only if its base URL is set.",
    )
    allow_networks: Names = Field((), description="CIDRs of private networks that pages may be fetched from.")
    allow_ports: Annotated[tuple[int, ...], BeforeValidator(split_list)] = Field(
        (), description="Ports allowed besides 80, 443, 8000, 8080, 8443, 8888."
    )
    resolve: Names = Field((), description="Fixed addresses as HOST:PORT:ADDRESS, like curl --resolve.")
    include_domains: Names = Field((), description="Only these domains and their subdomains.")
    exclude_domains: Names = Field((), description="Never these domains nor their subdomains.")
    requests_per_s_per_host: float = Field(1.0, gt=0, description="Politeness; robots.txt may ask for slower.")
    fetch_deadline_s: float = Field(12.0, gt=0, le=40, description="Total seconds for one page, redirects included.")
    fetch_proxy: SecretStr | None = Field(
        None,
        description="HTTP proxy for pages, `http://host:port`; it gets vetted addresses only. `environment` takes the "
        "one in HTTPS_PROXY. Not set: no proxy, whatever the environment says.",
    )
    robots: Literal["obey", "user_triggered", "off"] = Field(
        "obey",
        description="`user_triggered` spares only URLs that a person typed, `off` is for sites of your own.",
    )
    robots_strict_auth: bool = Field(False, description="Take 401 and 403 for robots.txt as: nothing may be fetched.")
    obey_ai_input: bool = Field(True, description="Leave pages alone whose site says `ai-input=no`.")
    breaker_failures: int = Field(5, ge=1, description="Failures in a row after which a host is left alone.")
    hosted_deadline_s: float = Field(30.0, gt=0, le=120, description="Seconds for one page by a hosted scraper.")
    markdown_deadline_s: float = Field(
        25.0, gt=0, le=120, description="Seconds a model has to write a page's Markdown."
    )
    breaker_within_s: float = Field(60.0, gt=0, description="Seconds in which those failures must come.")
    breaker_open_s: float = Field(30.0, gt=0, description="Seconds a failing host is left alone; then one probe.")

    # ---- what stays of a page ----
    snapshot_body: Literal["full", "run", "excerpts"] = Field(
        "full",
        description="What stays of a page after its run: all; text and hash; or hashes and quotes with small windows.",
    )
    snapshot_body_domains: Annotated[dict[str, Literal["full", "run", "excerpts"]], BeforeValidator(read_table)] = (
        Field({}, description='The same for single domains: "news.example" = "excerpts"; the strictest entry counts.')
    )

    # ---- which pages count ----
    page_languages: Names = Field((), description="Only pages in these languages (`en`, `de`); unknown ones pass.")
    page_min_words: int = Field(1, ge=0, description="Fewer words than this are no page.")
    page_deny_phrases: Names = Field((), description="Pages with one of these phrases don't count.")

    site_sessions: SecretPairs = Field(
        {},
        description="Headers of your own for sites behind a login, by host (docs/fetch.md). Not on servers.",
    )
    hosted_scrapers: Names = Field(
        (),
        description="Paid scrapers that may be asked for pages that can't be read otherwise: firecrawl, zenrows, jina.",
    )

    serving: bool = Field(
        False,
        description="This process serves many people: DuckDuckGo is off. `pincite serve` and PostgreSQL imply it.",
    )

    # ---- sharing with other installations ----
    share_scopes: Names = Field(
        (), description="Scopes whose pages and search answers may leave (docs/sharing.md); none by default."
    )
    share_domains: Names = Field(
        (), description="Sites whose pages may be shared; `*` is every public one. None by default."
    )
    share_peers: Pairs = Field(
        {},
        description='Installations to ask before sites and engines: office = "https://pincite.example ed25519:...".',
    )
    share_peer_tokens: SecretPairs = Field({}, description="API keys that open those peers, by the same names.")
    share_timeout_s: float = Field(2.0, gt=0, le=10, description="Seconds for one question to one peer.")

    # ---- search ----
    duckduckgo: bool | None = Field(
        None, description="Whether DuckDuckGo, which needs no key, may be asked. By default yes, but not by a server."
    )
    search_cache: bool = Field(True, description="Keep search answers as long as their kind and the terms allow.")
    search_near_duplicates: bool = Field(True, description="Let other wordings of the same query share an answer.")
    search_deadline_s: float = Field(
        60.0, gt=0, le=600, description="Seconds for one search in all: every engine, retry and pause."
    )
    search_call_deadline_s: float = Field(10.0, gt=0, le=60, description="Seconds for one call to one engine.")
    search_hedge_after_s: float | None = Field(4.0, gt=0, description="Ask a second engine beside one this slow.")
    search_pace_usd_per_month: Decimal | None = Field(
        Decimal(40), ge=0, description="Money for searches that comes back evenly; only orders the engines, no cap."
    )
    search_contracts: Annotated[dict[str, dict[str, float | bool | str]], BeforeValidator(read_tables)] = Field(
        {},
        description="What your contract with an engine allows: longest_cache_s, storable, shareable, attribution.",
    )
    search_limits: Pairs = Field(
        {}, description='Rate limits of your plans as CALLS/SECONDS, several by comma: tavily = "1000/60".'
    )
    lane: Literal["critical", "interactive", "batch"] | None = Field(
        None,
        description="Who goes first when an engine's limit is short: critical may use the reserve, batch waits for the"
        " others. By default interactive; batch for the runs of a server.",
    )
    search_weights: Weights = Field(
        {}, description="How often engines of equal fit and price get their turn: brave = 2.0, or a key: exa#2 = 0.5."
    )
    search_routes: Annotated[dict[str, Names], BeforeValidator(read_table)] = Field(
        {}, description="Engines to ask first by intent (documentation, error, research, ...): best first."
    )
    search_gate_confidence: float = Field(
        0.6, ge=0, le=1, description="From this confidence of the caller's own retrieval on, the web may be spared."
    )
    search_deny_domains: Names = Field((), description="Domains that no search result may be from.")
    team_scope: str | None = Field(None, description="Scope that shares answers whose terms allow it.")

    # ---- verification ----
    judge: str = Field(
        "auto",
        description="Who judges whether pages state a sentence (docs/verification.md): `model` (the verifier's), "
        "`PROVIDER:NAME`, `http://...`, a folder or a fetched model, `LOCAL,MODEL`, `none`. `auto`: the model, if any.",
    )
    judge_api_key: SecretStr | None = _key("Key of a judge at `http://...`.")

    model_hub: str | None = _key("Hub that `pincite models add` fetches judges from.", "HF_ENDPOINT")

    # ---- providers: keys and base URLs ----
    openai_api_key: SecretStr | None = _key("Key of OpenAI.", "OPENAI_API_KEY")
    openai_base_url: str | None = _key("Base URL of OpenAI.", "OPENAI_BASE_URL")
    anthropic_api_key: SecretStr | None = _key("Key of Anthropic.", "ANTHROPIC_API_KEY")
    anthropic_base_url: str | None = _key("Base URL of Anthropic.")
    google_api_key: SecretStr | None = _key("Key of Google Gemini.", "GOOGLE_API_KEY", "GEMINI_API_KEY")
    google_base_url: str | None = _key("Base URL of Google Gemini.")
    openrouter_api_key: SecretStr | None = _key("Key of OpenRouter.", "OPENROUTER_API_KEY")
    groq_api_key: SecretStr | None = _key("Key of Groq.", "GROQ_API_KEY")
    cerebras_api_key: SecretStr | None = _key("Key of Cerebras.", "CEREBRAS_API_KEY")
    mistral_api_key: SecretStr | None = _key("Key of Mistral.", "MISTRAL_API_KEY")
    deepseek_api_key: SecretStr | None = _key("Key of DeepSeek.", "DEEPSEEK_API_KEY")
    tavily_api_key: SecretStr | None = _key("Key of Tavily.", "TAVILY_API_KEY")
    tavily_base_url: str | None = _key("Base URL of Tavily.")
    exa_api_key: SecretStr | None = _key("Key of Exa.", "EXA_API_KEY")
    exa_base_url: str | None = _key("Base URL of Exa.")
    brave_api_key: SecretStr | None = _key("Key of Brave Search.", "BRAVE_API_KEY")
    brave_base_url: str | None = _key("Base URL of Brave Search.")
    serper_api_key: SecretStr | None = _key("Key of Serper.", "SERPER_API_KEY")
    serper_base_url: str | None = _key("Base URL of Serper.")
    searxng_base_url: str | None = _key("Base URL of your SearXNG.", "SEARXNG_URL")
    duckduckgo_base_url: str | None = _key("Base URL of DuckDuckGo's page for machines.")
    wikipedia_base_url: str | None = _key("Base URL of the Wikipedia to ask; unset is the one of the query's language.")
    marginalia_api_key: SecretStr | None = _key("Key of Marginalia Search.", "MARGINALIA_API_KEY")
    marginalia_base_url: str | None = _key("Base URL of Marginalia Search.")
    firecrawl_api_key: SecretStr | None = _key("Key of Firecrawl.", "FIRECRAWL_API_KEY")
    firecrawl_base_url: str | None = _key("Base URL of Firecrawl.", "FIRECRAWL_API_URL")
    zenrows_api_key: SecretStr | None = _key("Key of ZenRows.", "ZENROWS_API_KEY")
    zenrows_base_url: str | None = _key("Base URL of ZenRows.")
    jina_api_key: SecretStr | None = _key("Key of Jina.", "JINA_API_KEY")
    jina_search_base_url: str | None = _key("Base URL of Jina search.")
    jina_reader_base_url: str | None = _key("Base URL of Jina Reader.")
    wayback_base_url: str | None = _key("Base URL of a web archive with the Wayback Machine's interfaces.")

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every key and password of the settings."""
        values = [getattr(self, name) for name in type(self).model_fields]
        held = [*values, *self.llm_keys.values(), *self.site_sessions.values(), *self.share_peer_tokens.values()]
        return tuple(value.get_secret_value() for value in held if isinstance(value, SecretStr))

    @property
    def most_results(self) -> int:
        """How many results one search may ask for; engines give up to ten at the price that is set aside for one."""
        return max(10, self.results_per_query)

    @property
    def agent(self) -> str:
        """The name that goes out with every request."""
        return self.user_agent or version.user_agent(self.user_agent_contact)

    @property
    def is_server(self) -> bool:
        """Whether many people are served: by `pincite serve`, or over a database that machines share."""
        return self.serving or self.shared_database is not None

    @property
    def shared_database(self) -> str | None:
        """The URL of the database that machines share; None for the file of one home. It may hold a password."""
        url = self.database_url.get_secret_value() if self.database_url is not None else ""
        return url if url.startswith("postgres") else None

    @property
    def names_redis(self) -> bool:
        """Whether limits and cache are to be kept in a Redis."""
        return bool(self.redis_url or (self.upstash_redis_rest_url and self.upstash_redis_rest_token))

    @property
    def budget(self) -> Budget:
        """The caps as the ledger takes them."""
        return Budget(
            searches=self.max_searches,
            pages=self.max_pages,
            web_requests=self.max_web_requests,
            cost_usd=self.max_cost_usd,
            tokens_in=self.max_tokens,
            tokens_out=self.max_tokens,
            rounds=self.max_rounds,
            deadline_s=self.deadline_s,
        )
