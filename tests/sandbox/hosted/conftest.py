"""The stand-in for all vendors, running in a thread of its own, and a provider that speaks to it by the real SDK."""

from __future__ import annotations

import asyncio
import functools
import gc
import importlib
import ssl
import subprocess
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest
from aiohttp import web

from rubricgrade.sandbox import hosted
from tests.sandbox.hosted.cloud import Cloud, tunnel
from tests.sandbox.hosted.modal_cloud import Modal

HOST = "sandbox.superserve.ai"


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for the one host whose name an SDK does not let us choose."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", f"/CN={HOST}"]
    words += ["-addext", f"subjectAltName=DNS:{HOST}", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(words, check=True, capture_output=True)
    return cert, key


class Serving:
    """The cloud with its addresses, on an event loop of its own, so that tests may use as many loops as they like."""

    def __init__(self, folder: Path) -> None:
        self.cloud = Cloud()
        self.certificate, self.key = certificate(folder)
        self.proxy = ""
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self._started: Future[web.AppRunner] = asyncio.run_coroutine_threadsafe(self._start(), self.loop)
        self._started.result(30)

    async def _start(self) -> web.AppRunner:
        runner = web.AppRunner(self.cloud.app())
        await runner.setup()
        plain = web.TCPSite(runner, "127.0.0.1", 0)
        await plain.start()
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.certificate, self.key)
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        ports = [address[1] for address in runner.addresses]
        proxy = await asyncio.start_server(functools.partial(tunnel, port=ports[1]), "127.0.0.1", 0)
        self._proxy = proxy
        self.proxy = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
        self.cloud.base = f"http://127.0.0.1:{ports[0]}"
        return runner

    def stop(self) -> None:
        async def end() -> None:
            await self.cloud.close()
            self._proxy.close()
            await self._started.result().cleanup()

        asyncio.run_coroutine_threadsafe(end(), self.loop).result(60)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(10)
        self.loop.close()


@pytest.fixture(scope="session")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    served = Serving(tmp_path_factory.mktemp("cloud"))
    yield served
    served.stop()


@pytest.fixture
def cloud(serving: Serving) -> Iterator[Cloud]:
    yield serving.cloud
    serving.cloud.broken = False


@pytest.fixture(scope="session")
def modal(serving: Serving) -> Iterator[Modal]:
    service = Modal(serving.cloud)
    asyncio.run_coroutine_threadsafe(service.start(), serving.loop).result(30)
    yield service
    asyncio.run_coroutine_threadsafe(service.stop(), serving.loop).result(30)


@pytest.fixture(params=sorted(hosted.VENDORS))
def provider(
    request: pytest.FixtureRequest, serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> Iterator[hosted.HostedProvider]:
    name: str = request.param
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        pytest.skip(f"the SDK of {name} is not installed; make test-hosted installs it")
    base = serving.cloud.base
    settings = {
        "E2B_API_KEY": "e2b_" + "0" * 40, "E2B_API_URL": f"{base}/e2b", "E2B_SANDBOX_URL": f"{base}/e2b-machine",
        "E2B_HTTP_VERSION": "1.1", "DAYTONA_API_KEY": "k", "DAYTONA_API_URL": f"{base}/daytona",
        "DAYTONA_USE_DEPRECATED_POLLING": "1", "ARCHIL_API_KEY": "k", "ARCHIL_REGION": "local",
        "MODAL_TOKEN_ID": "ak-1", "MODAL_TOKEN_SECRET": "as-1",
        "SUPERSERVE_API_KEY": "k", "SUPERSERVE_BASE_URL": f"{base}/superserve", "NO_PROXY": "127.0.0.1",
    }  # fmt: skip
    if name == "modal":
        settings["MODAL_SERVER_URL"] = request.getfixturevalue("modal").url
    if name == "superserve":
        settings |= {"HTTPS_PROXY": serving.proxy, "SSL_CERT_FILE": str(serving.certificate)}
    for key, value in settings.items():
        monkeypatch.setenv(key, value)
    options = {"base_url": f"{base}/archil", "s3_base_url": base} if name == "archil" else {}
    yield hosted.provider(name, **options)
    with warnings.catch_warnings():
        # SDKs leave connections to the garbage collector; here it can't disturb whatever comes next.
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
