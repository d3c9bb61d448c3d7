"""What search engines require of structured data: takes an item by its type, returns the properties it lacks; and takes
the items of a page, reports those that cannot be read or lack something.

The table follows Google's documentation of structured data ("Required properties" of each feature), which is the
strictest of the published ones; types that it lists without a required property are judged by the one property
without which the item says nothing (an Article's headline, an Organization's name).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from comity.model.audit import FindingCode, StructuredItem
from comity.rules.audit.site_rows import Found

Item = Mapping[str, object]

_SHOWN: Final = 3
_MAX_NESTED: Final = 4
_MAX_LISTED: Final = 100
"""Values of a property that are looked at, and missing properties that are returned."""

# By type. Of "a|b" one must be there; of "a/b" too, but b is only another way to say a, and a is named as missing.
# Nested items are judged by the same table where `_JUDGED` says so.
_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "AggregateOffer": ("lowPrice", "priceCurrency"),
    "AggregateRating": ("ratingValue", "ratingCount|reviewCount"),
    "Answer": ("text",),
    "Article": ("headline/name",),
    "BreadcrumbList": ("itemListElement",),
    "ClaimReview": ("claimReviewed", "reviewRating", "url"),
    "Course": ("name", "description"),
    "Dataset": ("name", "description"),
    "DiscussionForumPosting": ("author", "datePublished", "text/image/video/sharedContent"),
    "Event": ("name", "startDate", "location"),
    "FAQPage": ("mainEntity",),
    "HowTo": ("name", "step"),
    "HowToStep": ("text/name/itemListElement",),
    "ItemList": ("itemListElement",),
    "JobPosting": (
        "title",
        "description",
        "datePosted",
        "hiringOrganization",
        "jobLocation/applicantLocationRequirements",
    ),
    "ListItem": ("position",),
    "LocalBusiness": ("name", "address"),
    "Movie": ("name", "image"),
    "Offer": ("price/priceSpecification", "priceCurrency/priceSpecification"),
    "Organization": ("name",),
    "Product": ("name", "offers|review|aggregateRating"),
    "ProductGroup": ("name",),
    "ProfilePage": ("mainEntity",),
    "QAPage": ("mainEntity",),
    "Question": ("name/text", "acceptedAnswer/suggestedAnswer"),
    "Rating": ("ratingValue",),
    "Recipe": ("name", "image"),
    "Review": ("author", "reviewRating"),
    "SoftwareApplication": ("name", "offers", "aggregateRating|review"),
    "VideoObject": ("name", "thumbnailUrl", "uploadDate"),
    "WebSite": ("name", "url"),
}

# Required of an item that is not part of another one: a review inside of a product needs no further subject.
_REQUIRED_ALONE: Final[Mapping[str, tuple[str, ...]]] = {
    "AggregateRating": ("itemReviewed",),
    "Review": ("itemReviewed",),
}

# Types of schema.org that are judged as the type they are a kind of.
# fmt: off
_KIND_OF: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        [
            "AdvertiserContentArticle", "AnalysisNewsArticle", "BackgroundNewsArticle", "BlogPosting",
            "LiveBlogPosting", "NewsArticle", "OpinionNewsArticle", "Report", "ReportageNewsArticle",
            "ReviewNewsArticle", "SatiricalArticle", "ScholarlyArticle", "TechArticle",
        ],
        "Article",
    ),
    **dict.fromkeys(
        [
            "BusinessEvent", "ChildrensEvent", "ComedyEvent", "DanceEvent",
            "EducationEvent", "ExhibitionEvent", "Festival", "FoodEvent", "Hackathon", "LiteraryEvent",
            "MusicEvent", "SaleEvent", "ScreeningEvent", "SocialEvent", "SportsEvent", "TheaterEvent",
            "VisualArtsEvent",
        ],
        "Event",
    ),
    **dict.fromkeys(
        [
            "AccountingService", "AnimalShelter", "Attorney", "AutoDealer", "AutoRental", "AutoRepair",
            "AutomotiveBusiness", "BankOrCreditUnion", "BarOrPub", "BeautySalon", "BedAndBreakfast",
            "BikeStore", "BookStore", "Brewery", "CafeOrCoffeeShop", "Campground", "ChildCare",
            "ClothingStore", "ComputerStore", "ConvenienceStore", "DaySpa", "Dentist", "DepartmentStore",
            "DryCleaningOrLaundry", "Electrician", "ElectronicsStore", "EmergencyService",
            "EmploymentAgency", "EntertainmentBusiness", "ExerciseGym", "FastFoodRestaurant",
            "FinancialService", "Florist", "FoodEstablishment", "FurnitureStore", "GardenStore",
            "GasStation", "GeneralContractor", "GroceryStore", "HVACBusiness", "HairSalon", "HardwareStore",
            "HealthAndBeautyBusiness", "HobbyShop", "HomeAndConstructionBusiness", "HomeGoodsStore",
            "Hospital", "Hostel", "Hotel", "HousePainter", "IceCreamShop", "InsuranceAgency",
            "JewelryStore", "LegalService", "Library", "LiquorStore", "Locksmith", "LodgingBusiness",
            "MedicalBusiness", "MedicalClinic", "MobilePhoneStore", "Motel", "MovingCompany", "NailSalon",
            "NightClub", "Notary", "OfficeEquipmentStore", "Optician", "PetStore", "Pharmacy", "Physician",
            "Plumber", "ProfessionalService", "RealEstateAgent", "Resort", "Restaurant",
            "RoofingContractor", "SelfStorage", "ShoeStore", "ShoppingCenter", "SportingGoodsStore",
            "SportsActivityLocation", "Store", "TattooParlor", "TireShop", "ToyStore", "TravelAgency",
            "VeterinaryCare", "WholesaleStore", "Winery",
        ],
        "LocalBusiness",
    ),
    **dict.fromkeys(
        [
            "Airline", "CollegeOrUniversity", "Corporation", "EducationalOrganization",
            "GovernmentOrganization", "MedicalOrganization", "NGO", "NewsMediaOrganization",
            "OnlineBusiness", "OnlineStore", "PerformingGroup", "ResearchOrganization", "School",
            "SportsOrganization", "SportsTeam",
        ],
        "Organization",
    ),
    **dict.fromkeys(("MobileApplication", "VideoGame", "WebApplication"), "SoftwareApplication"),
    **dict.fromkeys(("CriticReview", "EmployerReview", "MediaReview", "UserReview"), "Review"),
    "EmployerAggregateRating": "AggregateRating",
    "HowToDirection": "HowToStep",
    "IndividualProduct": "Product",
    "SocialMediaPosting": "DiscussionForumPosting",
}
# fmt: on

# Properties whose items are judged with the item that holds them, by the type of the holder.
_JUDGED: Final[Mapping[str, tuple[str, ...]]] = {
    "BreadcrumbList": ("itemListElement",),
    "ClaimReview": ("reviewRating",),
    "FAQPage": ("mainEntity",),
    "HowTo": ("step", "aggregateRating", "video"),
    "LocalBusiness": ("aggregateRating", "review"),
    "Product": ("offers", "review", "aggregateRating"),
    "ProductGroup": ("offers", "review", "aggregateRating"),
    "QAPage": ("mainEntity",),
    "Question": ("acceptedAnswer", "suggestedAnswer"),
    "Recipe": ("aggregateRating", "review", "video"),
    "Review": ("reviewRating",),
    "SoftwareApplication": ("offers", "review", "aggregateRating"),
}
# The type of a nested item that names none.
_USUAL_TYPE: Final[Mapping[str, str]] = {
    "acceptedAnswer": "Answer",
    "aggregateRating": "AggregateRating",
    "offers": "Offer",
    "review": "Review",
    "reviewRating": "Rating",
    "suggestedAnswer": "Answer",
}
_ALTERNATIVES: Final = re.compile("[|/]")
_REFERENCE_KEYS: Final = frozenset({"@id", "@type", "@context"})


def missing_properties(type: str, item: Item, *, is_nested: bool = False) -> tuple[str, ...]:  # noqa: A002
    """The required properties that an item lacks or leaves empty, in the order of the documentation.

    Call it for items that stand alone (also the members of an @graph): nested ones are judged with them, and what
    they lack is named by its path, "offers.price". A type can be written with its vocabulary. An item of an unknown
    type, and one that only points to another ("@id" and nothing else), lacks nothing.
    """
    return tuple(dict.fromkeys(_missing(_local(type), item, "", 0, is_nested)))[:_MAX_LISTED]


def is_judged(type: str) -> bool:  # noqa: A002
    """Whether properties are required of a type."""
    return _kind(_local(type)) in _REQUIRED


def _missing(name: str, item: Item, path: str, depth: int, is_nested: bool) -> list[str]:
    kind = _kind(name)
    if kind not in _REQUIRED or (item.keys() <= _REFERENCE_KEYS and "@id" in item):
        return []
    required = _REQUIRED[kind] + (() if is_nested else _REQUIRED_ALONE.get(kind, ()))
    lacking = [each for each in required if not any(_has(item, one) for one in _ALTERNATIVES.split(each))]
    missing = [" or ".join(path + one for one in each.partition("/")[0].split("|")) for each in lacking]
    if kind == "ListItem" and not _names_its_target(item):
        missing.append(f"{path}name")
    if kind == "Event":
        missing += _missing_address(item, path)
    if kind == "BreadcrumbList" and not all(_has(each, "item") for each in _items(item.get("itemListElement"))[:-1]):
        missing.append(f"{path}itemListElement.item")  # of all but the last, which is the page itself
    if depth < _MAX_NESTED:
        for each in _JUDGED.get(kind, ()):
            for nested in _items(item.get(each)):
                written = _type_of(nested) or _USUAL_TYPE.get(each, "")
                missing += _missing(written, nested, f"{path}{each}.", depth + 1, True)
    return missing


def _kind(name: str) -> str:
    return _KIND_OF.get(name, name)


def _local(name: str) -> str:
    """A type without its vocabulary: "https://schema.org/Product" and "schema:Product" are "Product"."""
    return name.rstrip("/").rpartition("/")[2].rpartition("#")[2].rpartition(":")[2]


def _has(item: Item, name: str) -> bool:
    return _says_something(item.get(name))


def _says_something(value: object, depth: int = 0) -> bool:
    """Whether a value is there: blank text, an empty list and an empty item are not; 0 and False are."""
    if value is None:
        return False
    if isinstance(value, str):
        return bool(value.strip())
    if depth >= _MAX_NESTED:
        return True
    if isinstance(value, Mapping):
        values = [value["@value"]] if "@value" in value else list(value.values())
        return any(_says_something(each, depth + 1) for each in values[:_MAX_LISTED])
    if isinstance(value, Sequence):
        return any(_says_something(each, depth + 1) for each in value[:_MAX_LISTED])
    return True


def _items(value: object) -> list[Item]:
    """The nested items of a property, one or several."""
    values = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    return [each for each in values[:_MAX_LISTED] if isinstance(each, Mapping)]


def _type_of(item: Item) -> str:
    """The first judged type of a nested item, else the first one."""
    written = item.get("@type")
    names = [written] if isinstance(written, str) else list(written) if isinstance(written, Sequence) else []
    types = [_local(each) for each in names if isinstance(each, str)]
    return next((each for each in types if is_judged(each)), types[0] if types else "")


def _names_its_target(item: Item) -> bool:
    """Whether an entry of a list has a name, directly or in its target (Google accepts either)."""
    return _has(item, "name") or any(_has(each, "name") for each in _items(item.get("item")))


def _missing_address(item: Item, path: str) -> list[str]:
    """An event's place needs an address, and an event on line a URL; a place that is plain text is taken as it is."""
    missing = []
    for place in _items(item.get("location")):
        wanted = "url" if _type_of(place) == "VirtualLocation" else "address"
        if not _has(place, wanted) and "@id" not in place:
            missing.append(f"{path}location.{wanted}")
    return missing


def judge_structured_data(items: Sequence[StructuredItem], subject: str, found: Found) -> None:
    """Report the structured data of one page."""
    problems = dict.fromkeys(f"{each.syntax}: {each.problem}" for each in items if each.problem)
    if problems:
        found.add(FindingCode.STRUCTURED_DATA_FAULT, subject, "; ".join(list(problems)[:_SHOWN]))
    lacking = dict.fromkeys(f"{each.type}: {', '.join(each.missing)}" for each in items if each.missing)
    if lacking:
        found.add(FindingCode.STRUCTURED_DATA_INCOMPLETE, subject, "; ".join(list(lacking)[:_SHOWN]))
