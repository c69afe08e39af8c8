"""The server that the tests use, and what a log makes in it."""

from tests import postgres_server


def test_its_database_is_not_of_the_collation_c(postgres_url: str) -> None:
    names = (
        "SELECT datcollate || coalesce(datlocale, '') FROM pg_database "
        "WHERE datname = current_database()"
    )

    assert postgres_server.execute(postgres_url, names)[0][0] != "C"
