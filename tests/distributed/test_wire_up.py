"""Processes that no MPI launcher started: how MPI's questions are answered from the store. Needs no MPI."""

from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from undertow.distributed._processes.wire_up import _Answers
from undertow.distributed._stores.store import HashStore
from undertow.distributed._transports.interface import DistNetworkError


def answers(store, rank, size=2):
    return _Answers(store, "a-job", rank, size, "(vector,(0,2,1))")


def test_rank_0_ends_after_the_others_because_it_serves_the_store():
    store = HashStore()
    with ThreadPoolExecutor() as threads:
        first = threads.submit(answers(store.clone(), 0, 3).answer, "cmd=finalize")
        for rank in (1, 2):
            assert not wait([first], timeout=0.05).done
            assert answers(store.clone(), rank, 3).answer("cmd=finalize") == "cmd=finalize_ack rc=0"
        assert first.result(timeout=60) == "cmd=finalize_ack rc=0"


@pytest.mark.parametrize("question", ["cmd=get kvsname=a-job key=x", "cmd=put kvsname=a-job key=x value=1", "cmd=barrier_in"])
def test_a_question_gets_an_answer_when_the_store_is_gone(question):
    class Gone(HashStore):
        def _run(self, command, arguments, timeout):
            raise DistNetworkError("no answer")

    assert " rc=-1 " in answers(Gone(), 1).answer(question)
    assert answers(Gone(), 1).answer("cmd=finalize") == "cmd=finalize_ack rc=0"
