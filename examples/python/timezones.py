"""Plans meetings and flights across time zones: daylight saving, gaps, folds, ISO weeks and recurring dates."""

import calendar
from datetime import UTC, date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

CITIES = {
    "San Francisco": "America/Los_Angeles",
    "New York": "America/New_York",
    "London": "Europe/London",
    "Berlin": "Europe/Berlin",
    "Kolkata": "Asia/Kolkata",
    "Kathmandu": "Asia/Kathmandu",
    "Tokyo": "Asia/Tokyo",
    "Lord Howe": "Australia/Lord_Howe",
}


def offset(moment: datetime) -> str:
    minutes = int(moment.utcoffset().total_seconds() // 60)
    sign = "+" if minutes >= 0 else "-"
    return f"UTC{sign}{abs(minutes) // 60}:{abs(minutes) % 60:02}"


def kind(zone: ZoneInfo, wall: datetime) -> str:
    """Says whether a wall-clock time exists, and how often."""
    early, late = (wall.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    if early.utcoffset() == late.utcoffset():
        return "exists once"
    back = early.astimezone(UTC).astimezone(zone).replace(tzinfo=None)
    return "exists twice" if back == wall else "does not exist"


def changes(zone: ZoneInfo, year: int):
    """Finds the moments at which the offset changes, by bisection to the second."""
    moment, end = datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)
    while moment < end:
        following = moment + timedelta(days=1)
        if moment.astimezone(zone).utcoffset() != following.astimezone(zone).utcoffset():
            low, high = moment, following
            while high - low > timedelta(seconds=1):
                middle = low + (high - low) / 2
                if middle.astimezone(zone).utcoffset() == low.astimezone(zone).utcoffset():
                    low = middle
                else:
                    high = middle
            yield high.replace(microsecond=0).astimezone(zone)
        moment = following


def third_friday(year: int, month: int) -> date:
    weeks = calendar.Calendar().monthdatescalendar(year, month)
    return [day for week in weeks for day in week if day.month == month and day.weekday() == calendar.FRIDAY][2]


def main():
    meeting = datetime(2024, 3, 20, 9, 30, tzinfo=ZoneInfo("America/Los_Angeles"))
    print("Meeting at", meeting.isoformat())
    for city, name in CITIES.items():
        local = meeting.astimezone(ZoneInfo(name))
        awake = "ok" if time(8) <= local.time() <= time(20) else "asleep"
        print(f"  {city:<14}{local:%a %d %b %H:%M}  {offset(local):<10} {local.tzname():<6} {awake}")

    print("\nClock changes in 2024")
    for city in ("New York", "Berlin", "Lord Howe", "Tokyo"):
        found = [f"{moment:%d %b} to {offset(moment)}" for moment in changes(ZoneInfo(CITIES[city]), 2024)]
        print(f"  {city:<10}", ", ".join(found) or "none")

    berlin = ZoneInfo("Europe/Berlin")
    print("\nWall clock in Berlin")
    for wall in (datetime(2024, 3, 31, 2, 30), datetime(2024, 10, 27, 2, 30), datetime(2024, 6, 1, 2, 30)):
        print(f"  {wall:%d %b %H:%M} {kind(berlin, wall)}")
    before = datetime(2024, 3, 30, 12, tzinfo=berlin)
    print("  a day later by the clock:", before + timedelta(days=1))
    print("  24 hours later:          ", (before.astimezone(UTC) + timedelta(hours=24)).astimezone(berlin))

    takeoff = datetime(2024, 7, 4, 23, 55, tzinfo=ZoneInfo("Asia/Tokyo"))
    landing = datetime(2024, 7, 4, 17, 25, tzinfo=ZoneInfo("America/Los_Angeles"))
    print("\nFlight time:", landing - takeoff, "| lands 'before' take-off:", landing.replace(tzinfo=None) < takeoff.replace(tzinfo=None))

    print("\nThird Fridays:", ", ".join(third_friday(2024, m).isoformat() for m in (3, 6, 9, 12)))
    for day in (date(2020, 12, 31), date(2021, 1, 3), date(2024, 2, 29), date(2024, 12, 30)):
        iso = day.isocalendar()
        print(f"  {day} is {day:%A}, ISO {iso.year}-W{iso.week:02}-{iso.weekday}, day {day.timetuple().tm_yday}")
    print("Back from ISO:", date.fromisocalendar(2021, 1, 1), "| ordinal", date(2024, 2, 29).toordinal())

    print("\nParsing")
    for text in ("2024-05-06T07:08:09Z", "2024-05-06 07:08:09.123456+05:45", "20240506T0708", "2024-W19-1"):
        print(f"  {text:<34} {datetime.fromisoformat(text)!r}")
    print("  strptime", datetime.strptime("Mon, 6 May 2024 07:08 +0200", "%a, %d %b %Y %H:%M %z").astimezone(UTC))
    stamp = datetime(2038, 1, 19, 3, 14, 8, tzinfo=timezone.utc).timestamp()
    print("  timestamp", int(stamp), datetime.fromtimestamp(stamp, UTC), divmod(timedelta(days=400, hours=5), timedelta(weeks=1)))
    try:
        ZoneInfo("Mars/Olympus_Mons")
    except ZoneInfoNotFoundError as err:
        print("  unknown zone:", err)


if __name__ == "__main__":
    main()
